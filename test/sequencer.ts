import { BaseSequencer, type TestSpecification } from "vitest/node";
import { SLOWEST } from "./projects.ts";

/** In which order projects start: the longest files first, and at the end those that fill every gap. */
const PROJECTS = ["long", "long-alone", "alone", "parts", "unit"];

/** Starts the slowest files first: one that starts last ends alone. vitest itself knows only what files took on this machine before. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- that of the sequencer, which leaves the array as it is
    const sorted = await super.sort(files);
    // Files of a project stay together, so that they share its processes.
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b) || rankOf(a) - rankOf(b));
  }
}

const placeOf = ({ project }: TestSpecification): number => PROJECTS.indexOf(project.name);

function rankOf({ moduleId }: TestSpecification): number {
  const place = SLOWEST.findIndex((path) => moduleId.endsWith(`/${path}`));
  return place === -1 ? SLOWEST.length : place;
}
