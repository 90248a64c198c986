import { BaseSequencer, type TestSpecification } from "vitest/node";
import { SLOWEST, WAITING } from "./projects.ts";

/** In which order projects start: at the end those that fill every gap. */
const PROJECTS = ["parts", "alone", "unit"];

/**
 * Starts the slowest files first: one that starts last ends alone. Those that wait come between the others: together they would
 * leave the cores idle. vitest itself knows only what files took on this machine before.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- that of the sequencer, which leaves the array as it is
    const sorted = await super.sort(files);
    // Files of a project stay together, so that they share its processes.
    return PROJECTS.flatMap((name) =>
      inOrder(sorted.filter(({ project }) => project.name === name)),
    );
  }
}

function inOrder(files: readonly TestSpecification[]): TestSpecification[] {
  const isWaiting = (file: TestSpecification): boolean => rankIn(WAITING, file) < WAITING.length;
  const rank = (file: TestSpecification): number => rankIn(SLOWEST, file);
  const busy = files.filter((file) => !isWaiting(file)).toSorted((a, b) => rank(a) - rank(b));
  const waiting = files
    .filter(isWaiting)
    .toSorted((a, b) => rankIn(WAITING, a) - rankIn(WAITING, b));
  return weave(busy, waiting);
}

function rankIn(paths: readonly string[], { moduleId }: TestSpecification): number {
  const place = paths.findIndex((path) => moduleId.endsWith(`/${path}`));
  return place === -1 ? paths.length : place;
}

/** Both lists in their order, spread evenly. */
function weave<T>(many: readonly T[], few: readonly T[]): T[] {
  const all = [
    ...many.map((item, at) => ({ item, place: (at + 1) / (many.length + 1) })),
    ...few.map((item, at) => ({ item, place: at / few.length })),
  ];
  return all.toSorted((a, b) => a.place - b.place).map(({ item }) => item);
}
