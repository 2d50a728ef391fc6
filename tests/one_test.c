/* The program of a single test, whose main() is called TEST_MAIN (CMakeLists.txt). */
int TEST_MAIN(int argc, char **argv);

int main(int argc, char **argv) {
    return TEST_MAIN(argc, argv);
}
