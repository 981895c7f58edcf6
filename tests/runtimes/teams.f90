! Teams of OpenMP threads in each rank: threadprivate variables, critical sections and reductions concern the rank's own.
program teams
  use ranks
  use omp_lib
  implicit none
  integer, save :: mine = 0
  !$omp threadprivate(mine)
  integer :: total, counted, round
  call start
  counted = 0
  do round = 1, 10
    total = 0
    !$omp parallel num_threads(3) reduction(+:total)
    mine = mine + rank * 10 + omp_get_thread_num()
    !$omp critical
    counted = counted + 1
    !$omp end critical
    !$omp barrier
    total = total + mine
    !$omp end parallel
    if (total /= round * (30 * rank + 3)) error stop 'a threadprivate variable is another rank''s'
    call barrier
  end do
  total = 0
  !$omp parallel do num_threads(2) reduction(+:total)
  do round = 1, 1000
    total = total + round * rank
  end do
  print '(3(i0, 1x), i0)', rank, counted, total, omp_get_max_threads()
  call finish
end program
