" Settings for plan files.

if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
setlocal formatoptions-=t formatoptions+=croql
" A hyphen joins two parts of a name.
setlocal iskeyword+=-
setlocal expandtab shiftwidth=2 softtabstop=2
" `gf` on what a file uses; a path is relative to the file.
setlocal suffixesadd=.plan
setlocal include=^\\s*use\\s\\+\"

let b:undo_ftplugin = 'setlocal comments< commentstring< formatoptions< iskeyword< expandtab< shiftwidth<'
      \ . ' softtabstop< suffixesadd< include<'
