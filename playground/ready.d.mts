/** Folder of the repository. */
export const root: string;
/** Installs the dependencies unless exactly those of the lockfile are there. */
export function install(): void;
/** Compiles the sources unless the result is newer than they are. */
export function build(): void;
/** Runs a command in the repository, showing its output; ends this process with its code when it fails. */
export function run(command: string, args: readonly string[]): void;
