import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isRunning } from "./lock.ts";

/**
 * Replaces a file by one with another content: a temporary file in the same folder, flushed, renamed over it, the folder flushed. So
 * a reader, also after a crash, sees the old or the new content and never half of it. Its mode stays; that of a new one is 0600.
 *
 * @param file a symbolic link is replaced, not followed
 * @param check runs last before the rename; a rejection leaves the old file
 * @throws what the file system says, `NodeJS.ErrnoException`; the old content is still there
 *
 * @example await replaceFile(path, JSON.stringify(state));
 */
export async function replaceFile(
  file: string,
  text: string,
  check?: () => Promise<unknown>,
): Promise<void> {
  const temporary = join(
    dirname(file),
    `.${basename(file)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`,
  );
  try {
    const mode = await stat(file).then(
      (found) => found.mode & 0o777,
      () => 0o600,
    );
    const handle = await open(temporary, "wx", mode);
    try {
      // open() is subject to the umask.
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await check?.();
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Without this the rename itself may be lost when the machine loses power. Some file systems cannot; the rename still holds. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/**
 * Removes temporary files that killed processes left beside a file: those of {@link replaceFile} and {@link lockFile}. Those of a
 * living process are kept.
 *
 * @example await sweepTemporary(path); // removes .state.json.4711.0123abcd.tmp
 */
export async function sweepTemporary(file: string): Promise<void> {
  const folder = dirname(file);
  const pattern = new RegExp(
    `^\\.${basename(file).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\.(\\d+)\\.[0-9a-f]{8,12}\\.tmp$`,
  );
  for (const name of await readdir(folder).catch(() => [])) {
    const owner = pattern.exec(name)?.[1];
    if (owner !== undefined && !isRunning(Number(owner)))
      await rm(join(folder, name), { force: true }).catch(() => {});
  }
}
