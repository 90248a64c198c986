import { BaseSequencer, type TestSpecification } from "vitest/node";

/** In which order projects start: at the end those that fill every gap. */
const PROJECTS = ["parts", "alone", "unit"];

/** Starts long files first: one that starts last ends alone. vitest itself knows only what files took on this machine before. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- that of the sequencer, which leaves the array as it is
    const sorted = await super.sort(files);
    // Files of a project stay together, so that they share its processes.
    return PROJECTS.flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name);
      return [...own.filter((file) => isLong(file)), ...own.filter((file) => !isLong(file))];
    });
  }
}

const isLong = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith(".long.test.ts");
