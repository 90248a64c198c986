// Vite reads `new URL(..., import.meta.url)` as the name of a file to bundle, so the address goes through a variable.
const script = import.meta.url;

/** Address of the pages: `https://host/prefix/ui/`, whatever path a proxy put in front. */
export const PAGES = new URL("..", script);

/** Address of the gateway that serves them. */
export const GATEWAY = new URL("../..", script);

/** Name of the script that runs; another build has another name. */
export const OWN_SCRIPT = script.slice(script.lastIndexOf("/") + 1);

/** Path of the pages without a slash at its end, as the router wants it. */
export const PAGES_PATH = PAGES.pathname.replace(/\/$/, "");
