/*
 * Template: the columns of L from a narrow panel [W; -M] as the device has it (panel_layout.h), W = inv(L1), M = L2 W. Included
 * after defining GSV_REAL, GSV_COMPLEX and GSV_FN(name).
 *
 * Column j of L is y with W y1 = e_j and y2 = M y1: a substitution by columns, in double precision. It goes, from its diagonal entry
 * on, to x + column[j]. Diagonals are real.
 */
static void GSV_FN(restore_panel)(const void *panel, int32_t nr, int32_t nc, const int64_t *column, void *x) {
    enum { PARTS = GSV_PARTS };
    double y[GSV_NARROW_ROWS][PARTS];
    for (int32_t j = 0; j < nc; j++) {
        for (int32_t i = j; i < nr; i++)
            for (int part = 0; part < PARTS; part++)
                y[i][part] = i == j && part == 0;
        for (int32_t k = j; k < nc; k++) {
            const GSV_REAL *p =
                (const GSV_REAL *)panel + (int64_t)gsv_narrow_column(nr, k) * PARTS; /* row i is p[i] */
            for (int part = 0; part < PARTS; part++)
                y[k][part] /= (double)p[k * PARTS];
            for (int32_t i = k + 1; i < nr; i++) {
#if GSV_COMPLEX
                const double re = (double)p[2 * i], im = (double)p[2 * i + 1];
                y[i][0] -= re * y[k][0] - im * y[k][1];
                y[i][1] -= re * y[k][1] + im * y[k][0];
#else
                y[i][0] -= (double)p[i] * y[k][0];
#endif
            }
        }
        GSV_REAL *to = (GSV_REAL *)x + column[j] * PARTS;
        for (int32_t i = j; i < nr; i++)
            for (int part = 0; part < PARTS; part++)
                to[(i - j) * PARTS + part] = (GSV_REAL)y[i][part];
    }
}
