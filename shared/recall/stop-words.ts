/**
 * Words that do not describe a text's subject, in English and Spanish: lower case, without accents. Single letters
 * come from contractions, such as `don't`.
 */
const english =
  "a about above after again all also am an and any are as at be because been before being below between both but by can " +
  "could did do does doing done down during each few for from further get got had has have having he her here hers herself " +
  "him himself his how i if in into is it its itself just let like ll m me might more most my myself no nor not now o of off " +
  "on once only or other our ours ourselves out over own re s same shall she should so some such t than that the their " +
  "theirs them themselves then there these they this those through to too under until up us ve very was we were what when " +
  "where which while who whom whose why will with would you your yours yourself yourselves d";

const spanish =
  "al algo ante antes como con cual cuales cuando cuanto de del desde donde durante e el ella ellas ellos en entre " +
  "es esa esas ese eso esos esta estaba estan estas este esto estos estoy fue fueron ha haber habia han hasta hay he la las " +
  "le les lo los mas me mi mis mucho muy nada ni nos o os otra otro para pero por porque pues que quien quienes se ser si " +
  "sin sobre su sus tambien te tengo ti tiene tienen toda todo todos tu tus un una unas uno unos y ya yo";

export const stopWords: ReadonlySet<string> = new Set(`${english} ${spanish}`.split(" "));
