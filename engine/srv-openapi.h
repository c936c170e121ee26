/* SPDX-License-Identifier: Apache-2.0 */
/* srv-openapi: schemas/engine.openapi.yaml as the program carries it, made by engine/engine.am. */
#pragma once

extern const char srv_openapi[];
