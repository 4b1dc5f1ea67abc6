import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const folder = "shared/build/absent";
const names = readdirSync(folder).map(
  (name): string => JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")).name,
);

it.each(names)("%s, which is unused, is not installed", (name) => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const places = Object.keys(packages).filter((place) => place.endsWith(`node_modules/${name}`));
  expect(places).toEqual([`node_modules/${name}`]);
  expect(realpathSync(`node_modules/${name}`)).toContain(join(process.cwd(), folder));
});
