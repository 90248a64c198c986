let folder = process.cwd();

/** Folder of the config that runs, which files beside it are relative to. */
export function configFolder(): string {
  return folder;
}

/** Says where the config is; before anything is loaded. */
export function setConfigFolder(path: string): void {
  folder = path;
}
