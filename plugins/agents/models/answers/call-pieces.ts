import { isObject, UniqueNames } from "propylon/kit";
import { scalarText } from "propylon/internal";
import { CUT_OFF, isWholeObject, textOfPiece, toArguments } from "./call-arguments.ts";

/** A call as a model made it. */
export interface MadeCall {
  /** Unlike that of every other call of the answer. */
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** What the provider wants to see again with the call. */
  readonly extra: unknown;
}

/** A call without a name is told to the model by this one: providers take no empty name back. */
export const NO_NAME = "call_without_a_name";

/** Calls of one answer; each is checked, made and told to the model, and a model decides how many there are. */
export const MAX_CALLS = 128;

export const TOO_MANY_CALLS = `The model made more than ${MAX_CALLS} calls in one answer.`;

/** How often the arguments of one call are looked at while they come: the provider decides how many pieces there are. */
const MAX_LOOKS = 16;

/** Characters that are looked at so, of all calls of an answer: 30 MB were looked at for two seconds. */
const MAX_LOOKED = 8 * 1_024 * 1_024;

interface Piece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly args: string;
  readonly extra: unknown;
}

/** A call while it comes. */
class OpenCall {
  readonly index: number | undefined;
  readonly id: string | undefined;
  /** Number of the message that brought it. */
  readonly began: number;
  name: string | undefined;
  extra: unknown;
  readonly args: string[] = [];
  length = 0;
  #looks = 0;

  constructor({ index, id, name }: Piece, began: number) {
    this.index = index;
    this.id = id;
    this.name = name;
    this.began = began;
  }

  take({ args, extra }: Piece): void {
    if (args !== "") this.args.push(args);
    this.length += args.length;
    this.extra ??= extra;
  }

  get text(): string {
    return this.args.join("");
  }

  /** Whether its arguments are an object from beginning to end, so that nothing can follow. @param mayLook asked before a look */
  isWhole(mayLook: (length: number) => boolean): boolean {
    if (this.args.at(-1)?.trimEnd().endsWith("}") === false) return false;
    return this.#looks++ < MAX_LOOKS && mayLook(this.length) && isWholeObject(this.text);
  }
}

/**
 * Puts the calls of one answer together. Providers leave indexes and ids out, or give the same ones again; a name may come in every
 * piece, in two of them, or last. No call is lost for it, none is made twice, and none gets the arguments of another: what does not
 * fit together becomes arguments that are not JSON, and the model is told.
 */
export class CallPieces {
  readonly #known: () => readonly string[];
  #names: readonly string[] | undefined;
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  readonly #byId = new Map<string, OpenCall>();
  #messages = 0;
  #looked = 0;

  /** @param known names of the tools that the model may call */
  constructor(known: () => readonly string[]) {
    this.#known = known;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Whether there were more calls than are taken. */
  get isFull(): boolean {
    return this.#calls.length > MAX_CALLS;
  }

  /** @param isWhole whether each of the list is all of a call */
  take(list: unknown, isWhole: boolean): void {
    this.#messages++;
    for (const each of Array.isArray(list) ? list : [list])
      if (isObject(each) && !this.isFull) this.#place(toPiece(each), isWhole);
  }

  /** @param isCut whether the answer was cut off */
  finish(isCut: boolean): MadeCall[] {
    const ids = new UniqueNames();
    const last = this.#calls.at(-1);
    return this.#inOrder().map((call) => ({
      id: ids.take(call.id ?? "call"),
      name: call.name ?? NO_NAME,
      args: isCut && call === last && call.text.trim() === "" ? CUT_OFF : toArguments(call.text),
      extra: call.extra,
    }));
  }

  #inOrder(): readonly OpenCall[] {
    const isPlaced = this.#calls.every(({ index }) => index !== undefined);
    return isPlaced ? this.#calls.toSorted((a, b) => a.index! - b.index!) : this.#calls;
  }

  #place(piece: Piece, isWhole: boolean): void {
    const near = this.#near(piece);
    if (near && this.#isRepeated(near, piece)) return;
    const isMore = near !== undefined && !isWhole && this.#continues(near, piece);
    const call = isMore ? near : this.#begin(piece);
    if (isMore && piece.name !== undefined) call.name = this.#joinName(call.name, piece.name);
    call.take(piece);
  }

  #begin(piece: Piece): OpenCall {
    const call = new OpenCall(piece, this.#messages);
    this.#calls.push(call);
    if (piece.index !== undefined) this.#byIndex.set(piece.index, call);
    if (piece.id !== undefined) this.#byId.set(piece.id, call);
    return call;
  }

  /** The call that a piece may belong to. */
  #near({ index, id, name }: Piece): OpenCall | undefined {
    const placed = index === undefined ? undefined : this.#byIndex.get(index);
    const called = id === undefined ? undefined : this.#byId.get(id);
    // Of calls that share an index, the id tells which.
    if (placed && called && placed.id !== id && called.index === index) return called;
    if (placed) return placed;
    // Two calls may share an id; those of one id and two indexes are two.
    if (called && (index === undefined || name === undefined)) return called;
    return index === undefined && (id === undefined || name === undefined)
      ? this.#calls.at(-1)
      : undefined;
  }

  #continues(call: OpenCall, { id, name, args }: Piece): boolean {
    const isOther = id !== undefined && call.id !== undefined && id !== call.id;
    if (name === undefined) return !(isOther && call.index === undefined && this.#isWhole(call));
    if (call.name === undefined) return true;
    const isSameMessage = call.began === this.#messages;
    if (call.args.length > 0)
      return !this.#isWhole(call) ? name === call.name : args === "" && !isSameMessage;
    if (isSameMessage || isOther) return false;
    return name === call.name || this.#joinName(call.name, name) !== name;
  }

  /** Some servers send a call again when it is complete. Calls that are alike without an index are two. */
  #isRepeated(call: OpenCall, { index, id, name, args }: Piece): boolean {
    if (index === undefined || id === undefined || args === "") return false;
    if (call.index !== index || call.id !== id || call.name !== name) return false;
    return this.#isWhole(call) && call.text === args;
  }

  #isWhole(call: OpenCall): boolean {
    return call.isWhole((length) => (this.#looked += length) <= MAX_LOOKED);
  }

  /** A name in every piece is the same each time, or longer each time; one in two pieces is that of a tool only when they are joined. */
  #joinName(before: string | undefined, name: string): string {
    if (before === undefined || before === name) return name;
    const joined = before + name;
    const known = (this.#names ??= this.#known());
    return !known.includes(name) && known.some((each) => each.startsWith(joined)) ? joined : name;
  }
}

/** Reads one entry of `tool_calls`; some servers leave the level `function` out. */
function toPiece(entry: Readonly<Record<string, unknown>>): Piece {
  const made = isObject(entry["function"]) ? entry["function"] : entry;
  const index = scalarText(entry["index"]);
  return {
    index: /^\d{1,9}$/.test(index) ? Number(index) : undefined,
    id: scalarText(entry["id"]) || undefined,
    name: scalarText(made["name"]).trim() || undefined,
    args: textOfPiece(made["arguments"]),
    extra: entry["extra_content"] ?? undefined,
  };
}
