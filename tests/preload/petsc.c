/* PETSc with CHOLMOD as its direct solver: one factor, many solves, each checked. Prints "0 wrong". */
#include <petscksp.h>

enum { SIDE = 12, SOLVES = 120 };

/* The 7-point Laplacian of a cube, a little more on its diagonal. */
static PetscErrorCode make_matrix(Mat *a) {
    const PetscInt n = SIDE * SIDE * SIDE, step[] = {1, SIDE, SIDE * SIDE};
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 7, NULL, a));
    for (PetscInt i = 0; i < n; i++) {
        PetscCall(MatSetValue(*a, i, i, 6.1, INSERT_VALUES));
        for (int d = 0; d < 3; d++)
            if (i / step[d] % SIDE + 1 < SIDE) {
                PetscCall(MatSetValue(*a, i, i + step[d], -1, INSERT_VALUES));
                PetscCall(MatSetValue(*a, i + step[d], i, -1, INSERT_VALUES));
            }
    }
    PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
    return MatSetOption(*a, MAT_SPD, PETSC_TRUE);
}

int main(int argc, char **argv) {
    Mat a;
    Vec b, x, y;
    KSP solver;
    PC pc;
    int wrong = 0;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(make_matrix(&a));
    PetscCall(MatCreateVecs(a, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &solver));
    PetscCall(KSPSetOperators(solver, a, a));
    PetscCall(KSPSetType(solver, KSPPREONLY));
    PetscCall(KSPGetPC(solver, &pc));
    PetscCall(PCSetType(pc, PCCHOLESKY));
    PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERCHOLMOD));
    PetscCall(KSPSetFromOptions(solver));
    for (int k = 0; k < SOLVES; k++) {
        PetscReal error, size;
        for (PetscInt i = 0; i < SIDE * SIDE * SIDE; i++)
            PetscCall(VecSetValue(y, i, (PetscScalar)((7 * i + k) % 11), INSERT_VALUES));
        PetscCall(VecAssemblyBegin(y));
        PetscCall(VecAssemblyEnd(y));
        PetscCall(MatMult(a, y, b));
        PetscCall(KSPSolve(solver, b, x));
        PetscCall(VecNorm(y, NORM_INFINITY, &size));
        PetscCall(VecAXPY(x, -1, y));
        PetscCall(VecNorm(x, NORM_INFINITY, &error));
        wrong += !(error < 1e-10 * size);
    }
    printf("%d wrong\n", wrong);
    PetscCall(KSPDestroy(&solver));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&a));
    return PetscFinalize();
}
