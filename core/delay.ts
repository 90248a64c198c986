/** Longest delay a timer can hold, in milliseconds; a longer one would fire at once. */
export const MAX_DELAY_MS = 2_147_483_647;
