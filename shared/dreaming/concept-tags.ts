import { stopWords } from "../recall/stop-words.ts";
import { plainText } from "../recall/words.ts";

const words = (text: string) => text.split(" ");

/** Technical terms that come before all other words, in several languages: lower case, without accents. */
const techTerms: ReadonlySet<string> = new Set(
  words(
    "api aws backup bug build cache certificate cloud cluster compiler container cron dashboard database deploy " +
      "deployment dns docker email endpoint firewall git github gitlab javascript kubernetes lambda latency linux login " +
      "migration model network nginx node openai password pipeline postgres postgresql production protocol python query " +
      "queue redis release repository restore rollback router rust schedule schema script security server sqlite ssh " +
      "staging storage telegram test token typescript update upgrade vpn webhook whatsapp wifi anthropic bedrock claude " +
      "gemini llama ollama slack discord terraform webpack windows macos android respaldo migracion despliegue servidor " +
      "contrasena seguridad actualizacion consulta red copia base sauvegarde serveur reseau securite datensicherung " +
      "sicherung datenbank netzwerk sicherheit anmeldung",
  ),
);

/** The same for scripts without spaces between words. */
const unspacedTerms: readonly string[] = words(
  "备份 数据库 服务器 部署 迁移 密码 安全 网络 バックアップ データベース サーバー 백업 서버 สำรองข้อมูล",
);

/** Words that do not describe a memory's subject: stop words, and words of talk, time and paths. */
const noTags: ReadonlySet<string> = new Set([
  ...stopWords,
  ...words(
    "always never often sometimes today tomorrow yesterday now then soon later user users human person people thing " +
      "things something anything everything nothing like likes liked want wants wanted need needs use uses used said " +
      "says say tell told know knows known make makes made one two three new old good well also please thanks siempre " +
      "nunca hoy manana ayer ahora luego pronto usuario persona gente cosa cosas gusta quiere necesita usa dice dijo " +
      "sabe hace hizo nuevo viejo bueno bien gracias favor src lib dist bin tmp var usr etc opt home node_modules index " +
      "main mod html css json yaml yml toml http https www com org net file files folder path",
  ),
]);

/** Maximum tags of a memory, and bounds of a tag's length. A tag in a script without spaces may be shorter. */
const maxTags = 8;
const maxLength = 32;
const minLength = { spaced: 3, unspaced: 2 };

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
/** A path, an address, or a name with `_`, `-`, `.` or camel case. */
const compound =
  /[\p{L}\p{N}_@~-]+(?:[/.:][\p{L}\p{N}_@~-]+)+|\p{L}[\p{L}\p{N}]*(?:[_-][\p{L}\p{N}]+)+|\p{Ll}+(?:\p{Lu}[\p{Ll}\p{N}]+)+/gu;
const isoDate = /^\d{4}-\d{2}(?:-\d{2})?(?:t[\d:.z+-]*)?$/;

let segmenter: Intl.Segmenter | undefined;

/**
 * Up to eight words that describe a text's subject: technical terms first, then names such as paths and identifiers, then its
 * other words, each in the order of the text. The same text has the same tags.
 */
export function conceptTags(text: string): string[] {
  const normal = text.normalize("NFKC");
  const words = [...wordsOf(normal.replace(compound, " "))];
  const compounds = normal.match(compound) ?? [];
  const terms = [...compounds, ...words].filter((word) => techTerms.has(plainText(word)));
  const found = unspacedTerms.filter((term) => normal.includes(term));
  const tags = new Set<string>();
  for (const candidate of [...found, ...terms, ...compounds, ...words]) {
    const tag = tagOf(candidate);
    if (tag !== undefined) tags.add(tag);
    if (tags.size >= maxTags) break;
  }
  return [...tags];
}

function* wordsOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter("und", { granularity: "word" });
  for (const { segment, isWordLike } of segmenter.segment(text)) if (isWordLike) yield segment;
}

/** A word as a tag; undefined when it is too short or too long, a number, a date, or in `noTags`. */
function tagOf(word: string): string | undefined {
  const tag = word
    .toLowerCase()
    .replaceAll("_", "-")
    .replaceAll(/^-+|-+$/g, "");
  const length = [...tag].length;
  const isShort = length < (unspaced.test(tag) ? minLength.unspaced : minLength.spaced);
  if (isShort || length > maxLength || /^[\d.,:-]+$/.test(tag) || isoDate.test(tag)) return undefined;
  return noTags.has(plainText(tag)) ? undefined : tag;
}
