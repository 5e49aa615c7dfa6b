" `:compiler planc` and then `:make` lints the folder, `:make %:S` the file; the findings are in the quickfix list.

if exists('g:current_compiler')
  finish
endif
let g:current_compiler = 'planc'

CompilerSet makeprg=planc\ lint\ --output-format\ concise
CompilerSet errorformat=%f:%l:%c:\ %t%*[a-z]%m,%-G%.%#
