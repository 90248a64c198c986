/** Longest delay a timer can hold, in milliseconds; a longer one would fire at once. */
export const MAX_DELAY_MS = 2_147_483_647;

/** Waits until work has ended, well or badly, but no longer than so many milliseconds; tells whether it has. Never rejects. */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, MAX_DELAY_MS), false);
  });
  const ended = work.then(
    () => true,
    () => true,
  );
  const hasEnded = await Promise.race([ended, late]);
  clearTimeout(timer);
  return hasEnded;
}
