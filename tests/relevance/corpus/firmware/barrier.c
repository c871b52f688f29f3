/* The barrier's motor: a state machine that is driven by a timer, and stops when something is in the way. */

#include "barrier.h"

#define TRAVEL_MS 1800
#define STAY_OPEN_MS 5000
#define OVERCURRENT_MA 900

static barrier_state state = BARRIER_CLOSED;
static uint32_t since_ms;

extern void motor_run(int direction);
extern int motor_current_ma(void);
extern bool beam_interrupted(void);

static void enter(barrier_state next, uint32_t now_ms)
{
    state = next;
    since_ms = now_ms;
    motor_run(next == BARRIER_OPENING ? 1 : next == BARRIER_CLOSING ? -1 : 0);
}

void barrier_init(void)
{
    enter(BARRIER_CLOSED, 0);
}

/* Returns false when the barrier is broken and a person has to come. */
bool barrier_open(void)
{
    if (state == BARRIER_FAULT)
        return false;
    if (state == BARRIER_CLOSED || state == BARRIER_CLOSING)
        enter(BARRIER_OPENING, since_ms);
    return true;
}

void barrier_tick(uint32_t now_ms)
{
    uint32_t elapsed = now_ms - since_ms;

    if (motor_current_ma() > OVERCURRENT_MA) {
        enter(BARRIER_FAULT, now_ms);
        return;
    }
    if (state == BARRIER_OPENING && elapsed >= TRAVEL_MS)
        enter(BARRIER_OPEN, now_ms);
    else if (state == BARRIER_OPEN && elapsed >= STAY_OPEN_MS && !beam_interrupted())
        enter(BARRIER_CLOSING, now_ms);
    else if (state == BARRIER_CLOSING && beam_interrupted())
        enter(BARRIER_OPENING, now_ms);
    else if (state == BARRIER_CLOSING && elapsed >= TRAVEL_MS)
        enter(BARRIER_CLOSED, now_ms);
}

barrier_state barrier_get_state(void)
{
    return state;
}
