import { basename } from "node:path";
import { GatewayError, type Place } from "../kit/errors.ts";
import { nearest } from "../kit/spelling.ts";

/** What one file imports by name from one module. */
interface NamedImport {
  readonly file: string;
  readonly source: string;
  /** As the file writes it. */
  readonly from: string;
  readonly names: readonly string[];
}

/** The module, known to this load alone, by which loaded code hands over what it imported. */
export const IMPORTS_MODULE = "propylon:imports";

/** `_kit = await jitiImport("propylon/kit")`, as jiti writes `import { ... } from "propylon/kit"`. */
const IMPORTED = /\b(_\w+) = await jitiImport\("([^"\\]+)"\)/g;

/**
 * Finds names that a file imports and the module does not export. Node refuses such a file; code that jiti made reads the name as
 * `undefined`, so that the mistake would show in the first call that needs it.
 */
export class NamedImports {
  readonly #wanted: NamedImport[] = [];
  readonly #modules = new Map<NamedImport, object>();

  /** What {@link IMPORTS_MODULE} exports. */
  readonly module = {
    note: <T>(index: number, module: T): T => {
      if (typeof module === "object" && module !== null)
        this.#modules.set(this.#wanted[index]!, module);
      return module;
    },
  };

  /** The code that jiti made of a file, handing over each module whose names it reads. */
  observe(file: string, source: string, code: string): string {
    return code.replaceAll(IMPORTED, (written, variable: string, from: string) => {
      const names = namesOf(variable, from, code, source);
      if (names.length === 0) return written;
      const index = this.#wanted.push({ file, source, from, names }) - 1;
      const note = `(await jitiImport("${IMPORTS_MODULE}")).note`;
      return `${variable} = ${note}(${index}, await jitiImport("${from}"))`;
    });
  }

  /**
   * Looks at all of them once the code was run: before, modules that import each other are not complete.
   *
   * @param others modules that may have a name instead
   * @throws {GatewayError} `invalid` with the place of the first name that is not there
   */
  check(others: Readonly<Record<string, object>>): void {
    for (const [{ file, source, from, names }, exports] of this.#modules) {
      const missing = names.find((name) => !(name in exports));
      if (missing === undefined) continue;
      const place = { file: basename(file), ...lineOf(missing, from, source) };
      const [module, name] = [from, missing].map((text) => JSON.stringify(text));
      throw new GatewayError("invalid", `${module} has no export ${name}.`, {
        hint: hintFor(missing, exports, others),
        place,
      });
    }
  }
}

function hintFor(name: string, module: object, others: Readonly<Record<string, object>>): string {
  const elsewhere = Object.keys(others).find((other) => name in others[other]!);
  if (elsewhere !== undefined) return `Import it from ${JSON.stringify(elsewhere)}.`;
  const meant = nearest(name, Object.keys(module));
  return meant === undefined ? "Correct the import." : `Did you mean ${JSON.stringify(meant)}?`;
}

/** Names that the code reads of a module and that its import names: types are not read, and a text may look like code. */
function namesOf(variable: string, from: string, code: string, source: string): string[] {
  const reads = code.matchAll(new RegExp(`(?<![.\\w$])${variable}\\.([A-Za-z_$][\\w$]*)`, "g"));
  const names = new Set([...reads].map(([, name]) => name!));
  return [...names].filter((name) => name !== "default" && lineOf(name, from, source));
}

/** Where an import names something; `undefined` where none does. */
function lineOf(
  name: string,
  from: string,
  source: string,
): Pick<Place, "line" | "column"> | undefined {
  for (const found of source.matchAll(
    /\bimport\b[^"'`;()]*\{([^}]*)\}\s*from\s*["']([^"']+)["']/g,
  )) {
    const [whole, list = "", module] = found;
    if (module !== from) continue;
    const at = new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`).exec(list);
    if (!at) continue;
    const before = source.slice(0, found.index + whole.indexOf("{") + 1 + at.index).split("\n");
    return { line: before.length, column: before.at(-1)!.length + 1 };
  }
  return undefined;
}
