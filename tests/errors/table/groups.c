// Chapter 7: groups.
#include "table.h"

void groups(void) {
  MPI_Group group, made = MPI_GROUP_NULL;
  MPI_Comm_group(world, &group);
  int twice[2] = {0, 0}, outside[1] = {size}, negative[1] = {-2}, translated[2];
  int away[1][3] = {{0, 3, -1}}, still[1][3] = {{0, 0, 0}}, beyond[1][3] = {{0, size, 1}};
  WRONG("group is MPI_GROUP_NULL; pass a group", MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &number));
  WRONG("group is MPI_COMM_WORLD, a communicator", MPI_ERR_GROUP, MPI_Group_rank((MPI_Group)MPI_COMM_WORLD, &number));
  WRONG("group1 is MPI_GROUP_NULL", MPI_ERR_GROUP, MPI_Group_union(MPI_GROUP_NULL, group, &made));
  WRONG("group2 is MPI_GROUP_NULL", MPI_ERR_GROUP, MPI_Group_intersection(group, MPI_GROUP_NULL, &made));
  WRONG("group2 is MPI_GROUP_NULL", MPI_ERR_GROUP, MPI_Group_compare(group, MPI_GROUP_NULL, &number));
  WRONG("newgroup is a null pointer", MPI_ERR_ARG, MPI_Group_difference(group, group, NULL));
  WRONG("ranks[1] is 0", MPI_ERR_RANK, MPI_Group_incl(group, 2, twice, &made));
  WRONG("ranks[0] is ", MPI_ERR_RANK, MPI_Group_incl(group, 1, outside, &made));
  WRONG("ranks[0] is -2", MPI_ERR_RANK, MPI_Group_excl(group, 1, negative, &made));
  WRONG("ranks[1] is 0", MPI_ERR_RANK, MPI_Group_excl(group, 2, twice, &made));
  WRONG("n is -1", MPI_ERR_ARG, MPI_Group_incl(group, -1, twice, &made));
  WRONG("ranks is a null pointer", MPI_ERR_ARG, MPI_Group_incl(group, 1, NULL, &made));
  WRONG("ranges[0] is (0, 3, -1)", MPI_ERR_ARG, MPI_Group_range_incl(group, 1, away, &made));
  WRONG("ranges[0] is (0, 0, 0)", MPI_ERR_ARG, MPI_Group_range_excl(group, 1, still, &made));
  WRONG("ranges", MPI_ERR_RANK, MPI_Group_range_incl(group, 1, beyond, &made));
  WRONG("n is -1", MPI_ERR_ARG, MPI_Group_range_incl(group, -1, away, &made));
  WRONG("ranges is a null pointer", MPI_ERR_ARG, MPI_Group_range_incl(group, 1, NULL, &made));
  WRONG("ranks1[0] is -2", MPI_ERR_RANK, MPI_Group_translate_ranks(group, 1, negative, group, translated));
  WRONG("ranks1 is a null pointer", MPI_ERR_ARG, MPI_Group_translate_ranks(group, 1, NULL, group, translated));
  WRONG("ranks2 is a null pointer", MPI_ERR_ARG, MPI_Group_translate_ranks(group, 1, twice, group, NULL));
  WRONG("group is MPI_GROUP_NULL", MPI_ERR_GROUP, MPI_Group_free(&made));
  MPI_Group gone = group;
  MPI_Group_free(&group);
  WRONG("a group that was freed already", MPI_ERR_GROUP, MPI_Group_size(gone, &number));
  WRONG("a group that was freed already", MPI_ERR_GROUP, MPI_Group_free(&gone));
}
