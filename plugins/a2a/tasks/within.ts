/** Waits for something, at most so many milliseconds. Never rejects. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}
