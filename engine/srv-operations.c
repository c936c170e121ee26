/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-operations: the table of operations, from its one list.
 */
#include "config.h"

#include "srv-operations.h"

const SrvOperationInfo srv_operations[SRV_N_OPERATIONS] = {
#define SRV_OPERATION_ROW(name, method, path, kind, roles) { #name, method, path, kind, roles },
  SRV_OPERATIONS (SRV_OPERATION_ROW)
#undef SRV_OPERATION_ROW
};
