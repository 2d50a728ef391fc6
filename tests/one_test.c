/* The program of a single test, whose main() is called TEST_MAIN; TEST_START, where there is one, is called before it
 * (CMakeLists.txt, pools.h). */
int TEST_MAIN(int argc, char **argv);
void TEST_START(void) __attribute__((weak));

int main(int argc, char **argv) {
    if (TEST_START)
        TEST_START();
    return TEST_MAIN(argc, argv);
}
