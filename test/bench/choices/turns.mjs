const ROUNDS = 9;

/**
 * Runs functions in turns and says how much CPU each took per operation, in nanoseconds, and against the first.
 *
 * @param {Readonly<Record<string, () => void>>} variants each does `operations` of them
 * @param {number} operations
 */
export function inTurns(variants, operations) {
  const costs = Object.fromEntries(Object.keys(variants).map((name) => [name, []]));
  for (let round = -1; round < ROUNDS; round++)
    for (const [name, run] of Object.entries(variants)) {
      const before = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(before);
      // The first round is for the compiler.
      if (round >= 0) costs[name].push(((user + system) * 1_000) / operations);
    }
  const [floor] = Object.values(costs);
  return Object.entries(costs).map(([name, times]) => {
    const ratios = times.map((time, at) => time / floor[at]);
    return `${name}: ${middle(times).toFixed(0)} ns, ${range(ratios)} times the first`;
  });
}

/** The middle of some numbers, and their ends. */
export function range(numbers) {
  const ends = [Math.min(...numbers), Math.max(...numbers)].map((each) => each.toFixed(1));
  return `${middle(numbers).toFixed(1)} (${ends.join(" to ")})`;
}

function middle(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
