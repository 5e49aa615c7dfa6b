" Colours for plan files. Each expression is that of a terminal in planc's grammar; of two items that match at one place
" Vim takes the one that is defined last, so what is to win stands further down.

if exists('b:current_syntax')
  finish
endif

let s:cpo = &cpoptions
set cpoptions&vim

syntax case match

" The lists of words are written by `python -m tests.editors.grammars`.
" made: units
let s:units = 'CNY/kWh|EUR/kWh|GBP/kWh|JPY/kWh|USD/kWh|samples|GFLOPS|Gbit/s|Mbit/s|PFLOPS|TFLOPS|Tbit/s|epochs|kbit/s|tokens|CNY/h|EUR/h|GBP/h|GiB/s|JPY/h|KiB/s|MiB/s|PiB/s|TiB/s|USD/h|steps|GB/s|MB/s|PB/s|TB/s|kB/s|CNY|EUR|GBP|GiB|JPY|KiB|MiB|PiB|TiB|USD|min|GB|MB|PB|TB|kB|kW|ms|us|W|d|h|s'
" made: suffixes
let s:suffixes = 'Gi|Ki|Mi|Ti|B|M|T|k'
" made: functions
let s:functions = 'divides|count|floor|ceil|all|any|max|min|sum|hf'

" A name: a hyphen joins between word characters, a dot only in front of a digit.
let s:word = '\h\w*%(%(-|\.\d@=)\w+)*'
let s:word_end = '%(\w|-\w|\.\d)@!'
let s:name_end = '[A-Za-z0-9_-]@!'
let s:before_equal = '%(\s*\=\=@!)'
let s:name = s:word . '\w@!' . s:before_equal . '@!'
let s:string = '"%([^"\\]|\\.)*"'
let s:reserved = 'use|from|in|and|or|not|when|because|else'
let s:verbs = '%(require|forbid|warn)' . s:name_end
let s:literals = '%(true|false|none|auto)' . s:name_end
let s:kind = '%(gpu|cluster|model|policy|plan|template)%(\s+%("|%(%(and|or|not|in|when|because)' . s:name_end
      \ . ')@!\h[A-Za-z0-9_.-]*[A-Za-z0-9_.-]@!%(\s*\=)@!))@='
" A name of the user's: none of the words above, and no key.
let s:free = '%(%(' . s:reserved . ')' . s:word_end . '|' . s:verbs . '|' . s:literals . '|' . s:kind . '|' . s:word . s:before_equal
      \ . ')@!' . s:name
let s:decimal = '\d[0-9_]*%(\.\d[0-9_]*)?%([eE][+-]?\d+)?'
let s:per = '%(/%(s|h|kWh)\w@!)?'
let s:unit_end = '%(\w|\()@!%([.-]\w)@!%(\s*%(\=\=@!|\{|in' . s:name_end . '))@!'
let s:glued = '\s@1<!\a\w*' . s:per
let s:spaced = '\s@1<=%(%(' . s:reserved . '|require|forbid|warn|true|false|none|auto'
      \ . '|gpu|cluster|model|policy|plan|template)' . s:name_end . ')@!\a+' . s:per
      \ . s:unit_end

function! s:match(group, pattern, ...) abort
  execute 'syntax match' a:group '`\v' . a:pattern . '`' join(a:000)
endfunction

" What cannot be read: any character by itself, a run of letters of other scripts, and strings without an end.
call s:match('plancError', '[^ \t]')
call s:match('plancError', '[^\x00-\x7f]+')
call s:match('plancError', '''[^'']*''?')
call s:match('plancError', '".*')

call s:match('plancDelimiter', '[]{}().]')
call s:match('plancDelimiter', '[[,]', 'nextgroup=plancNarrowed skipwhite skipempty')
call s:match('plancOperator', '[-+*/<>=]|[<>!=]\=|\.\.')

call s:match('plancString', s:string, 'contains=plancEscape,plancBadEscape')
call s:match('plancName', s:name)
call s:match('plancFunction', s:name . '%(\s*\()@=')
call s:match('plancKnownFunction', '%(' . s:functions . ')' . s:word_end . '%(\s*\()@=')
call s:match('plancSection', s:name . '%(\s*\{)@=')
call s:match('plancKeyword', '%(and|or|not|in|when|use)' . s:word_end . s:before_equal . '@!')
call s:match('plancKeyword', 'from' . s:word_end . s:before_equal . '@!', 'nextgroup=plancBase skipwhite')
call s:match('plancKeyword', 'because' . s:word_end . s:before_equal . '@!', 'nextgroup=plancReason skipwhite skipempty')
call s:match('plancError', 'else' . s:word_end . s:before_equal . '@!')
call s:match('plancLiteral', s:literals)
call s:match('plancVerb', s:verbs)
call s:match('plancKind', s:kind, 'nextgroup=plancBlock skipwhite')
call s:match('plancKey', s:word . s:before_equal . '@=', 'nextgroup=plancAssignment skipwhite')
call s:match('plancLanguage', 'language' . s:before_equal . '@=')

" A number; what touches it, a suffix or a unit; a unit behind blanks. A unit that planc does not know is an error.
call s:match('plancBadUnit', s:spaced, 'contained')
call s:match('plancUnit', '%(' . s:spaced . ')@=%(' . s:units . ')[A-Za-z0-9_/]@!' . s:unit_end . '|\%', 'contained')
let s:then = 'nextgroup=plancUnit,plancBadUnit skipwhite'
call s:match('plancBadGlued', s:glued, 'contained', s:then)
call s:match('plancGlued', '\s@1<!%(' . s:units . ')[A-Za-z0-9_/]@!', 'contained', s:then)
call s:match('plancSuffix', '\s@1<!%(' . s:suffixes . ')[A-Za-z0-9_/]@!', 'contained', s:then)
call s:match('plancNumber', s:decimal,
      \ 'nextgroup=plancSuffix,plancGlued,plancBadGlued,plancUnit,plancBadUnit skipwhite')

" What stands behind a kind, `from`, `=`, `[` or `because`.
call s:match('plancBlock', s:free, 'contained')
call s:match('plancBase', s:free . '%(\s*\()@!', 'contained')
call s:match('plancAssignment', '\=', 'contained nextgroup=plancNarrowed skipwhite')
call s:match('plancNarrowed', s:free . '%(\s*\{)@=', 'contained')
call s:match('plancReason', s:string, 'contained contains=plancEscape,plancBadEscape,plancQuote')
call s:match('plancQuote', '\{\h[0-9A-Za-z_-]*%(\.\h[0-9A-Za-z_-]*)*\}', 'contained')
call s:match('plancBadEscape', '\\.', 'contained')
call s:match('plancEscape', '\\[\\"nt]', 'contained')

" The names that a comment allows, up to the reason.
call s:match('plancComment', '#.*', 'contains=plancAllow,plancTodo,@Spell')
call s:match('plancAllow', '#+\s*[Pp][Ll][Aa][Nn][Cc]\s*:\s*allow%(\s|$)@=', 'contained nextgroup=plancAllowed skipwhite')
call s:match('plancAllowed', '%(--)@![^ \t,]+', 'contained nextgroup=plancAllowComma skipwhite')
call s:match('plancAllowComma', ',', 'contained nextgroup=plancAllowed skipwhite')
syntax keyword plancTodo contained TODO FIXME XXX

syntax sync minlines=20

highlight default link plancComment Comment
highlight default link plancTodo Todo
highlight default link plancAllow SpecialComment
highlight default link plancAllowed Special
highlight default link plancKind Structure
highlight default link plancBlock Type
highlight default link plancBase Type
highlight default link plancNarrowed Type
highlight default link plancKey Identifier
highlight default link plancLanguage PreProc
highlight default link plancSection Statement
highlight default link plancKeyword Keyword
highlight default link plancVerb Conditional
highlight default link plancLiteral Constant
highlight default link plancKnownFunction Function
highlight default link plancNumber Number
highlight default link plancSuffix Number
highlight default link plancUnit Special
highlight default link plancBadUnit Error
highlight default link plancGlued Special
highlight default link plancBadGlued Error
highlight default link plancString String
highlight default link plancReason String
highlight default link plancQuote Special
highlight default link plancEscape SpecialChar
highlight default link plancBadEscape Error
highlight default link plancOperator Operator
highlight default link plancAssignment Operator
highlight default link plancDelimiter Delimiter
highlight default link plancError Error

let b:current_syntax = 'planc'

let &cpoptions = s:cpo
unlet s:cpo
