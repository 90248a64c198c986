import { FIRST_PROBLEM, problemText } from "propylon/kit";
import { readFile } from "node:fs/promises";
import { GatewayError } from "propylon";
import {
  CONTRACT_VERSIONS,
  contractVersionSchema,
  MANIFEST_FILE,
  manifestSchema,
  type Manifest,
} from "propylon/contract";
import { parseAnswer } from "./answer.ts";

/**
 * The manifest of a text.
 * @throws {GatewayError} `invalid` for another major version, or naming the field that is wrong
 */
function parseManifest(text: string): Manifest {
  const value = json(text);
  const version = (value as { contractVersion?: unknown }).contractVersion;
  if (
    typeof version === "string" &&
    !contractVersionSchema.safeParse(version, FIRST_PROBLEM).success
  )
    throw new GatewayError("invalid", `The runtime implements contract ${version.slice(0, 50)}.`, {
      hint: `This sidecar speaks ${CONTRACT_VERSIONS.join(", ")} and their minor versions.`,
    });
  const checked = manifestSchema.safeParse(value, FIRST_PROBLEM);
  if (checked.success) return checked.data;
  throw new GatewayError(
    "invalid",
    `The runtime's ${MANIFEST_FILE} is wrong: ${problemText(checked.error.issues[0]!, "it")}.`,
    { hint: "Correct it: see propylon conformance runtime." },
  );
}

/** @throws {GatewayError} `io_error` when it cannot be read; `invalid` as {@link parseManifest} */
export async function readManifest(file: string): Promise<Manifest> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    throw new GatewayError("io_error", `The manifest cannot be read (${code}).`, {
      hint: "Check runtime.manifest.",
      cause,
    });
  }
  return parseManifest(text);
}

/** A manifest that is served; something else that a catch-all route answers is not one. */
export function servedManifest(text: string): Manifest | undefined {
  try {
    if (!Object.hasOwn(parseAnswer(text) as object, "contractVersion")) return undefined;
  } catch {
    return undefined;
  }
  return parseManifest(text);
}

function json(text: string): object {
  try {
    const value: unknown = parseAnswer(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Said below.
  }
  throw new GatewayError("invalid", `The runtime's ${MANIFEST_FILE} is not a JSON object.`, {
    hint: "Correct it: see propylon conformance runtime.",
  });
}
