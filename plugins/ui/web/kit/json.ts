/**
 * Numbers with every digit, as the gateway reads and writes them: an identifier of 64 bits that a tool answers is shown as it is, and
 * called again as it is. It is the gateway's own code, which runs in browsers; the rest of the kit does not.
 */
// oxlint-disable-next-line no-restricted-imports -- the public name has parts that need Node
export { parseExact, writeJson } from "../../../../core/kit/exact-json.ts";
// oxlint-disable-next-line no-restricted-imports -- as above
export { ExactNumber, isNumber } from "../../../../core/kit/exact-number.ts";
