import { isObject } from "propylon/kit";

/** Longest body of an error that is read for its reason, in characters; pages of proxies are longer, and not JSON. */
const MAX_BODY = 65_536;

/** How deep a reason is looked for: who sends the body decides how deep it nests. */
const MAX_DEPTH = 6;

/** How many of the mistakes that FastAPI lists are told. */
const MAX_MISTAKES = 3;

/**
 * Why a provider refuses, in its own words, wherever it keeps them: OpenAI and Anthropic in `error.message`, Gemini in a list,
 * Ollama as text in `error`, vLLM in `message`, FastAPI in `detail`.
 */
export function reasonIn(said: unknown, depth = 0): string | undefined {
  if (typeof said === "string") return said.trim() === "" ? undefined : said;
  if (depth === MAX_DEPTH) return undefined;
  if (Array.isArray(said)) return reasonOfList(said, depth + 1);
  if (!isObject(said)) return undefined;
  for (const key of ["message", "error", "detail", "msg"]) {
    const reason = reasonIn(said[key], depth + 1);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function reasonOfList(list: readonly unknown[], depth: number): string | undefined {
  const reasons = list.slice(0, MAX_MISTAKES).flatMap((each) => reasonIn(each, depth) ?? []);
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

/** The reason in the body of an error; `undefined` for one that is not JSON, e.g. a page of a proxy. */
export function reasonInBody(body: unknown): string | undefined {
  if (typeof body !== "string" || body.length > MAX_BODY) return undefined;
  return reasonIn(parse(body));
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? undefined : value;
  } catch {
    return undefined;
  }
}
