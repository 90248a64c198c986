// What the flag store needs of `propylon`, for a child that starts often and fast.
export * from "../../../core/kit/errors.ts";
export { digestOf } from "../../../core/kit/digest.ts";
export * from "../../../core/kit/lock.ts";
export * from "../../../core/kit/replace-file.ts";
