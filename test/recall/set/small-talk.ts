import type { Random } from "../../support/random.ts";

/** Sentences that share names and things with the questions, and answer none of them. `{…}`: one of the words below. */
const languages = {
  english: {
    sentences: [
      "{name} rang about the {thing}, I will call back in the evening.",
      "Can you move the {thing} on my list to {day}?",
      "I talked with {name} about the {thing} for an hour and we decided nothing.",
      "Is there a good article about a {thing} that {name} could read?",
      "{name} is late again, the traffic on {day} is terrible.",
      "Write {name} a short thank-you note for the {thing}.",
      "We had the {thing} discussed twice on {day}, that is enough.",
      "Remind me on {day} to ask {name} how the {thing} went.",
    ],
    replies: [
      "Done, it is on the list for {day}.",
      "I have asked {name}; the answer will come on {day}.",
      "There is nothing new about the {thing}.",
      "Of course. Shall I tell {name} as well?",
    ],
    name: ["Priya", "Tom", "Ingrid", "Mara", "Nell", "Joel", "Mum", "Yusuf", "Biscuit", "Aleksander"],
    thing: [
      ...["coffee", "dinner", "dentist", "flat", "scarf", "firmware", "rent", "race", "puppy", "birthday"],
      ...[
        "wine",
        "password",
        "backup",
        "passport",
        "book club",
        "knee",
        "car seat",
        "party",
        "nurse",
        "release",
      ],
    ],
    day: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
  },
  spanish: {
    sentences: [
      "{name} llamó por lo de {thing}, le contesto por la tarde.",
      "¿Puedes pasar lo de {thing} al {day}?",
      "Hablé con {name} una hora sobre {thing} y no decidimos nada.",
      "¿Hay algún artículo sobre {thing} que le sirva a {name}?",
      "{name} llega tarde otra vez, el tráfico del {day} es terrible.",
      "Escríbele a {name} para darle las gracias por {thing}.",
      "Recuérdame el {day} preguntarle a {name} cómo le fue con {thing}.",
    ],
    replies: [
      "Listo, queda para el {day}.",
      "Le pregunté a {name}; responde el {day}.",
      "No hay nada nuevo sobre {thing}.",
      "Claro. ¿Le aviso también a {name}?",
    ],
    name: [
      "Lucía",
      "Andrés",
      "Paula",
      "Trueno",
      "Xiomara",
      "Hernán",
      "papá",
      "Iván",
      "Mateo",
      "Elisa",
      "la abuela",
    ],
    thing: [
      ...[
        "la boda",
        "el hotel",
        "el portátil",
        "la cerámica",
        "el gato",
        "el vuelo",
        "la receta",
        "el fontanero",
      ],
      ...[
        "la película",
        "el radio",
        "la finca",
        "la bicicleta",
        "el italiano",
        "la reunión",
        "el mapa",
        "la moto",
      ],
    ],
    day: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado"],
  },
  chinese: {
    sentences: [
      "{name}打电话来说{thing}的事，我晚上再回。",
      "把{thing}挪到{day}可以吗？",
      "我和{name}聊了一个小时{thing}，什么都没决定。",
      "有没有关于{thing}的文章可以给{name}看？",
      "{name}又迟到了，{day}的路上太堵。",
      "帮我给{name}写一句谢谢，为了{thing}。",
      "{day}提醒我问问{name}，{thing}怎么样了。",
    ],
    replies: [
      "好的，放在{day}了。",
      "我问了{name}，{day}回复。",
      "{thing}没有新消息。",
      "当然，要不要也告诉{name}？",
    ],
    name: ["小雨", "王丽", "陈国栋", "周敏", "妈妈", "豆包", "林浩", "何教练"],
    thing: [
      ...["咖啡", "火车票", "画展", "周会", "游泳", "按摩椅", "数据库", "地铁", "围巾", "相机"],
      ...["机票", "体检", "车险", "婚礼", "猫粮", "快递", "项目", "客厅"],
    ],
    day: ["周一", "周二", "周三", "周四", "周五", "周六"],
  },
};

export type Language = keyof typeof languages;

/** A conversation in which nothing is said that a question asks for. */
export function smallTalk(
  language: Language,
  turns: number,
  random: Random,
): { role: string; text: string }[] {
  const words = languages[language];
  const fill = (text: string) =>
    text.replace(/\{(name|thing|day)\}/g, (_, slot: "name" | "thing" | "day") => random.pick(words[slot]));
  return Array.from({ length: turns }, (_, i) =>
    i % 2 === 0
      ? { role: "user", text: fill(random.pick(words.sentences)) }
      : { role: "assistant", text: fill(random.pick(words.replies)) },
  );
}
