/** Keys and what they do, as the help shows them. */
export const HELP: readonly (readonly [string, string])[] = [
  ['arrows, h j k l', 'move the selection'],
  ['PgUp PgDn g G', 'a page, the first, the last'],
  ['Enter', 'open the card; Esc or q closes it'],
  ['< >, H L', 'move the card to the next column'],
  ['s t/i/b/d', 'status: to do, in progress, blocked, done'],
  ['p h/m/l/n', 'priority: high, medium, low, none'],
  ['a', 'assign; empty: to nobody'],
  ['space, x', 'in a card: tick the criterion'],
  ['Tab', 'in a card: go to the next criterion'],
  ['e', 'edit the file in $VISUAL or $EDITOR'],
  ['n', 'create a task'],
  ['/', 'filter by words: title, id, label, assignee'],
  ['r', 'only what is ready, or everything'],
  ['Esc', 'clear the filter'],
  ['q, Ctrl-C', 'quit'],
  ['* @', 'where there is one line a card: ready, held'],
]
