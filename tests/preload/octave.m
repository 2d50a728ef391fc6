% Octave's \ with a positive definite matrix is CHOLMOD: a new factor each time, so gpusolve is asked from the first solve on.
1;
wrong = 0;
m = 12;
d = spdiags (ones (m, 1) * [-1, 2.1, -1], -1:1, m, m);
e = speye (m);
a = kron (kron (d, e), e) + kron (kron (e, d), e) + kron (kron (e, e), d);
n = rows (a);
z = a + 0.1i * (tril (a, -1) - triu (a, 1));
for k = 1:15
  x = reshape (mod ((1:n*k) * 7, 11), n, k);
  wrong += ! (norm (a \ (a * x) - x, 1) < 1e-10 * norm (x, 1));
  xz = x + 1i * flipud (x);
  wrong += ! (norm (z \ (z * xz) - xz, 1) < 1e-10 * norm (xz, 1));
  s = sparse (mod (1:n, 50) == k)';
  wrong += ! (norm (a * (a \ s) - s, 1) < 1e-10);
endfor
printf ("%d wrong\n", wrong);
