import { onTestFinished } from "vitest";

const undos: (() => unknown)[] = [];

/** Undoes something after this test, or, outside of a test, after its file: in a hook that comes once, or while the file is read. */
export function afterwards(undo: () => unknown): void {
  try {
    onTestFinished(async () => void (await undo()));
  } catch {
    undos.push(undo);
  }
}

/** Undoes what was done outside of tests, the last first. */
export async function undoRest(): Promise<void> {
  for (const undo of undos.splice(0).toReversed()) await undo();
}
