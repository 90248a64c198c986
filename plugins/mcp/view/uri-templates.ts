import type { Server } from "propylon";
import { matchesLiterals } from "propylon/internal";

/** What a template leads to. */
export interface TemplateOwner {
  readonly server: Server;
  /** As the server names it. */
  readonly name: string;
}

interface Entry extends TemplateOwner {
  readonly template: string;
  /** The text between the expressions. */
  readonly literals: readonly string[];
  readonly weight: number;
}

/**
 * Finds the server that owns a URI by the resource templates. An expression stands for any text: the server itself checks
 * closely, here only the way to it is needed. Where several templates fit, the one with the most literal text wins.
 */
export class UriTemplates {
  readonly #entries: Entry[] = [];

  add(template: string, server: Server, name = template): void {
    const literals = literalsOf(template);
    this.#entries.push({ template, server, name, literals, weight: literals.join("").length });
  }

  /** Whose template this is, as it stands in the list. */
  owner(template: string): TemplateOwner | undefined {
    return this.#entries.find((entry) => entry.template === template);
  }

  /** The server whose template a URI fits. */
  find(uri: string): Server | undefined {
    let best: Entry | undefined;
    for (const entry of this.#entries) {
      if (entry.weight > (best?.weight ?? -1) && matchesLiterals(entry.literals, uri)) best = entry;
    }
    return best?.server;
  }
}

/** Splits an RFC 6570 template at its expressions, without a regular expression. */
function literalsOf(template: string): string[] {
  const literals: string[] = [];
  let from = 0;
  for (let open = template.indexOf("{"); open >= 0; open = template.indexOf("{", from)) {
    const close = template.indexOf("}", open);
    if (close < 0) break;
    literals.push(template.slice(from, open));
    from = close + 1;
  }
  literals.push(template.slice(from));
  return literals;
}
