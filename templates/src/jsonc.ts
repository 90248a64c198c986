import { readFileSync } from "node:fs";
import { Failure } from "./failure.ts";

/**
 * Reads a JSON file as editors write it: with comments, commas at the end of lists, a byte order mark.
 *
 * @throws {Failure} for a file that cannot be read
 */
export function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Failure(unreadable(file, (error as NodeJS.ErrnoException).code));
  }
  try {
    return JSON.parse(withoutComments(text.replace(/^\uFEFF/, "")));
  } catch {
    throw new Failure(`${file} is not JSON. Give a file such as .mcp.json or .vscode/mcp.json.`);
  }
}

function unreadable(file: string, code = "unknown error"): string {
  if (code === "ENOENT") return `${file} does not exist. Check the path after --import.`;
  if (code === "EISDIR") return `${file} is a folder. Give the file in it, e.g. .mcp.json.`;
  return `${file} cannot be read (${code}).`;
}

/** Texts are left as they are, whatever they look like. */
function withoutComments(text: string): string {
  const keepTexts = (_: string, literal?: string): string => literal ?? "";
  return text
    .replaceAll(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, keepTexts)
    .replaceAll(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, keepTexts);
}
