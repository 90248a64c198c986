/** A test by its file below `test/` and its title, or the name of its case, as the file has it. */
export type FieldTest = readonly [file: string, title: string];

/** What runs an input of the field, and what hits the same rule by another way. */
export interface FieldInput {
  readonly test: FieldTest;
  readonly siblings: readonly FieldTest[];
}

/** Tests of one file. */
export const inFile =
  (file: string) =>
  (...titles: readonly string[]): readonly FieldTest[] =>
    titles.map((title) => [`${file}.test.ts`, title]);

/** The first is the test, the others are its siblings. */
export function input(...tests: readonly (readonly FieldTest[])[]): FieldInput {
  const [test, ...siblings] = tests.flat();
  return { test: test!, siblings };
}
