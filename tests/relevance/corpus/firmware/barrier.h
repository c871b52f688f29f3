#ifndef BARRIER_H
#define BARRIER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { BARRIER_CLOSED, BARRIER_OPENING, BARRIER_OPEN, BARRIER_CLOSING, BARRIER_FAULT } barrier_state;

void barrier_init(void);
bool barrier_open(void);
void barrier_tick(uint32_t now_ms);
barrier_state barrier_get_state(void);

#endif
