import { until } from "../../kit/until.ts";
import type { Input, Place } from "./input.ts";
import { type Shaped, shapesOf } from "./shapes.ts";

/**
 * `npm run campaign -- worst-inputs` looks for the worst, on a quiet machine; otherwise two small ones of each input are chosen by
 * chance, which show what grows with the square of the size.
 */
export const IS_CAMPAIGN = process.env["WORST_INPUTS"] === "1";
/**
 * How large they are, in bytes: just below `limits.body`, so that they are not refused for their size, and less, so that they are
 * not refused for their keys.
 */
const SIZES = IS_CAMPAIGN ? [4_190_000, 2_000_000, 1_000_000, 500_000, 300_000] : [300_000];
/** What memory is compared to. */
const BYTES = 4_190_000;
/** How large those are that the worst are chosen by. */
const TRIED_BYTES = 128 * 1024;
/** How many are tried of an input, and how many of them are sent in full. */
const TRIED = 150;
const SHAPES = IS_CAMPAIGN ? 5 : 2;
/** How long all of an input may take, in milliseconds. */
export const INPUT_MS = 600_000;
/** What nobody may hold the event loop for, in milliseconds. */
export const MOST_MS = 250;
/** Most memory: 20 times the input. */
const MOST_MEMORY = 20 * BYTES;

/** Sends the worst of an input to the gateway of a place. @returns lines about what was too much */
export async function tryInput<P extends Place>(
  place: P,
  input: Input<P>,
): Promise<readonly string[]> {
  await until(() => place.gateway.isReady());
  await input.send(place, Buffer.from(JSON.stringify(input.sample)));
  const found: string[] = [];
  for (const shape of await chooseWorst(place, input))
    found.push(...(await measureSizes(place, input, shape)));
  return found;
}

async function measureSizes<P extends Place>(
  place: P,
  input: Input<P>,
  shape: Shaped,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const size of input.sizes ?? SIZES) {
    const bytes = shape.make(size);
    const { held, grown, total } = await place.gateway.measure(() => input.send(place, bytes));
    const line = `${Math.round(held)} ms, ${Math.round(total)} ms in all, ${(grown / BYTES).toFixed(1)} times the input: ${shape.name} (${bytes.length} bytes)`;
    if (IS_CAMPAIGN) process.stdout.write(`${input.name}: ${line}\n`);
    if (held > MOST_MS || grown > (input.memory ?? MOST_MEMORY)) found.push(line);
    place.gateway.assertAlive();
  }
  return found;
}

/** Tries shapes in small; those that took most time are the worst. */
async function chooseWorst<P extends Place>(place: P, input: Input<P>): Promise<readonly Shaped[]> {
  const shapes = shuffle(input.shapes ?? shapesOf(input.sample));
  if (!IS_CAMPAIGN) return shapes.slice(0, SHAPES);
  const tried: { readonly shape: Shaped; readonly total: number }[] = [];
  for (const shape of shapes.slice(0, input.tried ?? TRIED)) {
    const bytes = shape.make(Math.min(TRIED_BYTES, ...(input.sizes ?? [])));
    const { total } = await place.gateway.measure(() => input.send(place, bytes));
    tried.push({ shape, total });
  }
  const worst = tried.toSorted((left, right) => right.total - left.total);
  return worst.slice(0, SHAPES).map(({ shape }) => shape);
}

function shuffle<T>(items: readonly T[]): readonly T[] {
  const keyed = items.map((item) => ({ item, at: Math.random() }));
  return keyed.toSorted((left, right) => left.at - right.at).map(({ item }) => item);
}
