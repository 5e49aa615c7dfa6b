" Plan files of planc.
autocmd BufRead,BufNewFile *.plan set filetype=planc
