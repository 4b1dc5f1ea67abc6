import { expect, it } from "vitest";
import { conceptTags } from "../../shared/dreaming/concept-tags.ts";

it.each<[rule: string, text: string, tags: string[]]>([
  [
    "a term of the trade comes first",
    "We agreed yesterday about the nightly backup",
    ["backup", "agreed", "nightly"],
  ],
  [
    "so does one of Spanish",
    "Cada noche hay un respaldo completo",
    ["respaldo", "cada", "noche", "completo"],
  ],
  ["with its accent", "La migración fue larga", ["migración", "larga"]],
  ["and one within a Chinese sentence", "每晚备份", ["备份", "每晚"]],
  [
    "a path is one tag",
    "Errors come from src/agent/main.rs mostly",
    ["src/agent/main.rs", "errors", "come", "mostly"],
  ],
  ["an address too", "Ask api.example.org first", ["api.example.org", "ask", "first"]],
  ["an identifier with humps is one tag", "camelCaseNames matter", ["camelcasenames", "matter"]],
  ["an identifier with _ is one, with -", "set max_tokens high", ["max-tokens", "set", "high"]],
  ["letters are lower case in one form (NFKC)", "Ｂｏｇｏｔá ﬁsh", ["bogotá", "fish"]],
  ["words of two letters are left out", "Bo is in LA with Ada", ["ada"]],
  ["but not of Chinese", "绿茶", ["绿茶"]],
  ["what is longer than 32 characters is left out", `${"x".repeat(33)} ${"y".repeat(32)}`, ["y".repeat(32)]],
  ["numbers are left out", "4711 apples 3.14 10:30", ["apples"]],
  ["dates are left out", "due 2026-04-24 or 2026-04-24T10:00:00Z", ["due"]],
  ["English words that say nothing are left out", "There is always something that people like", []],
  ["Spanish ones too", "Siempre le gusta esto porque sí", []],
  ["and parts of paths", "index http www json", []],
  ["a tag comes once", "Tea, tea and TEA", ["tea"]],
  [
    "there are at most eight",
    "ant bee cat dog eel fox gnu hen ibis jay",
    ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"],
  ],
  ["nothing has none", "  ", []],
])("I39: of concept tags, %s", (_, text, tags) => {
  expect(conceptTags(text)).toEqual(tags);
});
