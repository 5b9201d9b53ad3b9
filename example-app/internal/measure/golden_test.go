package measure_test

// What WriteText writes, looked through by hand.

const wantBoth = `burst: 40 rounds; the modes of a round at the same time, in random order (seed 7)

server time, ms            n   min   p50   p90  p99   max  client p50  p99  new conns  errors
rest                warm  40  20.5  22.5  24.5    -  24.5        23.0    -          0       0
direct              warm  40  10.5  11.5  12.5    -  12.5        12.0    -          0       0
direct-per-request  cold  40  35.5  36.5  37.5    -  37.5        37.0    -         40       0
direct-naive-pool   warm  40  10.5  11.5  12.5    -  12.5        12.0    -          0       0

where it went, mean ms        client  app  pool  network+pooler  postgrest  database  of it handshakes
rest                    warm     0.0  0.5   0.0            16.5        0.0       5.5               0.0
direct                  warm     0.0  0.5   0.0             8.2        0.0       2.7               0.0
direct-per-request      cold     0.0  0.5  25.0             8.2        0.0       2.7              25.0
direct-naive-pool       warm     0.0  0.5   0.0             8.2        0.0       2.7               0.0

per round, server time  against  ratio  95 % interval  rounds
direct                  rest      0.51   0.51 to 0.51      40
direct-per-request      rest      1.62   1.62 to 1.73      40
direct-naive-pool       rest      0.51   0.51 to 0.51      40
direct-per-request      direct    3.17   3.17 to 3.38      40
direct-naive-pool       direct    1.00   1.00 to 1.00      40

verdict: direct takes 0.51 times what rest takes (95 % interval 0.51 to 0.51, 40 rounds).
  direct-per-request takes 1.62 times what rest takes (95 % interval 1.62 to 1.73, 40 rounds); direct-per-request made new connections in 40 of 40 requests.
  direct-naive-pool takes 0.51 times what rest takes (95 % interval 0.51 to 0.51, 40 rounds).
  direct-per-request takes 3.17 times what direct takes (95 % interval 3.17 to 3.38, 40 rounds); direct-per-request made new connections in 40 of 40 requests.
Note: - means that there are not enough samples: p50 takes 6, p90 36, p99 368.

spaced: 8 rounds, a pause of 11s before each; the modes of a round at the same time, in random order (seed 7)

server time, ms           n   min   p50  p90  p99   max  client p50  p99  new conns  errors
rest                warm  8  20.5  22.5    -    -  24.5        23.0    -          0       0
direct              warm  8  10.5  11.5    -    -  12.5        12.0    -          0       0
direct-per-request  cold  8  35.5  36.5    -    -  37.5        37.0    -          8       0
direct-naive-pool   cold  8  35.5  36.5    -    -  37.5        37.0    -          8       0

where it went, mean ms        client  app  pool  network+pooler  postgrest  database  of it handshakes
rest                    warm     0.0  0.5   0.0            16.3        0.0       5.4               0.0
direct                  warm     0.0  0.5   0.0             8.2        0.0       2.7               0.0
direct-per-request      cold     0.0  0.5  25.0             8.2        0.0       2.7              25.0
direct-naive-pool       cold     0.0  0.5  25.0             8.2        0.0       2.7              25.0

per round, server time  against  ratio  95 % interval  rounds
direct                  rest      0.51   0.51 to 0.51       8
direct-per-request      rest      1.62   1.53 to 1.73       8
direct-naive-pool       rest      1.62   1.53 to 1.73       8
direct-per-request      direct    3.17   3.00 to 3.38       8
direct-naive-pool       direct    3.17   3.00 to 3.38       8

verdict: direct takes 0.51 times what rest takes (95 % interval 0.51 to 0.51, 8 rounds).
  direct-per-request takes 1.62 times what rest takes (95 % interval 1.53 to 1.73, 8 rounds); direct-per-request made new connections in 8 of 8 requests.
  direct-naive-pool takes 1.62 times what rest takes (95 % interval 1.53 to 1.73, 8 rounds); direct-naive-pool made new connections in 8 of 8 requests.
  direct-per-request takes 3.17 times what direct takes (95 % interval 3.00 to 3.38, 8 rounds); direct-per-request made new connections in 8 of 8 requests.
  direct-naive-pool takes 3.17 times what direct takes (95 % interval 3.00 to 3.38, 8 rounds); direct-naive-pool made new connections in 8 of 8 requests.
Note: - means that there are not enough samples: p50 takes 6, p90 36, p99 368.

                    burst                            spaced
server time, ms       p50  new conns in  handshakes     p50  new conns in  handshakes  spaced/burst  pays for connections
rest                 22.5       0 of 40         0.0    22.5        0 of 8         0.0          1.00                 never
direct               11.5       0 of 40         0.0    11.5        0 of 8         0.0          1.00                 never
direct-per-request   36.5      40 of 40        25.0    36.5        8 of 8        25.0          1.00               in both
direct-naive-pool    11.5       0 of 40         0.0    36.5        8 of 8        25.0          3.17             in spaced
`

const wantFailures = `rate: 10 rounds of 100, interrupted, 10 a second, begun up to 9ms late, 8 at once; the modes of a round one after the other, in random order (seed 7)

server time, ms         n   min   p50  p90  p99   max  due to end p50  p99  new conns  errors
direct           warm  10  10.5  11.5    -    -  12.5            16.5    -          0       0
b                       0                                                           0      10

where it went, mean ms        client  app  pool  network+pooler  postgrest  database  of it handshakes
direct                  warm     0.0  0.5   0.0             8.2        0.0       2.7               0.0

per round, server time  against  ratio  95 % interval  rounds
b                       direct       -              -       0

no verdict: 10 of 10 rounds of b and direct failed.
Note: 1 of 10 requests of direct needed a new connection to the app, which it, or a proxy, had closed. That time is in no figure.
Failed: b, 5 times: reason 0
Failed: b, 5 times: reason 1
Note: 1 of 10 requests of b needed a new connection to the app, which it, or a proxy, had closed. That time is in no figure.
Note: - means that there are not enough samples: p50 takes 6, p90 36, p99 368.
`
