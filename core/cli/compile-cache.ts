import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

/** What Node has of it from 22.8 on. */
interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Keeps what was compiled for the next start, a fifth of whose time that is. In a folder of the user's own: Node's default is a
 * temporary one, where others might leave code for us. `NODE_COMPILE_CACHE` names another, `NODE_DISABLE_COMPILE_CACHE` wants none,
 * and where nothing can be written there is none.
 */
export function keepCompiledCode(): void {
  const { enableCompileCache } = module as CompileCache;
  if (enableCompileCache === undefined || process.env["NODE_COMPILE_CACHE"]) return;
  const folder = cacheFolder();
  if (folder !== undefined) enableCompileCache(join(folder, "propylon"));
}

function cacheFolder(): string | undefined {
  const { XDG_CACHE_HOME: named } = process.env;
  if (named) return named;
  try {
    return join(homedir(), ".cache");
  } catch {
    // A user without an entry, as in some containers.
    return undefined;
  }
}
