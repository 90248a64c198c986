import { Fernet, createSealer } from "propylon/kit";
import { expect, it } from "vitest";

const [OPTION, OLD, VARIABLE] = ["option", "older option", "variable"].map((name) =>
  `${name} `.repeat(16),
) as [string, string, string];

/** Whether what the sealer sealed opens with this key alone. */
const sealsWith = (sealer: Fernet, key: string): boolean => {
  try {
    return new Fernet([key]).open(sealer.seal("a secret")) === "a secret";
  } catch {
    return false;
  }
};

it("seals with the first key of the options, and opens with all of them", () => {
  const sealer = createSealer("console", [OPTION, OLD], { SECRET_KEY: VARIABLE });
  expect(sealsWith(sealer, OPTION)).toBe(true);
  expect(sealer.open(new Fernet([OLD]).seal("x"))).toBe("x");
  expect(() => sealer.open(new Fernet([VARIABLE]).seal("x"))).toThrow(/another key/);
});

it("T172: takes the keys of the environment where the options have none; one that is set to nothing is not set", () => {
  const key = VARIABLE.trim();
  const both = createSealer("console", undefined, { MNEMOSYNE_FERNET_KEY: key, SECRET_KEY: OLD });
  expect(sealsWith(both, key)).toBe(true);
  for (const MNEMOSYNE_FERNET_KEY of ["", " ", undefined]) {
    const sealer = createSealer("console", undefined, { MNEMOSYNE_FERNET_KEY, SECRET_KEY: key });
    expect(sealsWith(sealer, key)).toBe(true);
  }
});

it("says for whom there is no key, and refuses one that can be guessed", () => {
  for (const environment of [{}, { SECRET_KEY: "" }])
    expect(() => createSealer("console", undefined, environment)).toThrow(
      expect.objectContaining({
        code: "invalid",
        message: "There is no key to seal the secrets of console with.",
        hint: expect.stringContaining("plugins.console.secretKeys") as string,
      }),
    );
  expect(() => createSealer("console", undefined, { SECRET_KEY: "guessed" })).toThrow(/too short/);
});
