// Hooks of Node: what Propylon exports comes from the files of which dist is made, one for each module.
import { readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

export function resolve(id, context, next) {
  const source =
    /^propylon(?:\/|$)/.test(id) &&
    exports[`.${id.slice("propylon".length)}`]?.["@propylon/source"];
  if (!source) return next(id, context);
  const file = `dist/modules/${source.replace(/^\.\/|ts$/g, "")}js`;
  return { url: new URL(file, root).href, shortCircuit: true };
}
