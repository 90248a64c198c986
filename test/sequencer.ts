import { BaseSequencer, type TestSpecification } from "vitest/node";
import { SLOWEST } from "./projects.ts";

/** Starts the slowest files first: one that starts last ends alone. vitest itself knows only what files took on this machine before. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- that of the sequencer, which leaves the array as it is
    const sorted = await super.sort(files);
    const projects = new Set(sorted.map(({ project }) => project.name));
    return [...projects].flatMap((name) =>
      sorted
        .filter(({ project }) => project.name === name)
        .toSorted((a, b) => rankOf(a) - rankOf(b)),
    );
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const place = SLOWEST.findIndex((path) => moduleId.endsWith(`/${path}`));
  return place === -1 ? SLOWEST.length : place;
}
