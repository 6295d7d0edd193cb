# cmake -DROOT=... -DLIST=... -DOUTPUT=... -P embed_shaders.cmake
#
# Writes OUTPUT, a C++ file that defines gpu::embedded_shaders: the files named in LIST, by their paths below ROOT.

set(PIECE 16000)  # bytes; MSVC takes string literals of up to 16380

# TEXT as adjacent raw string literals.
function(literal text result)
    string(LENGTH "${text}" length)
    set(pieces "\"\"\n")  # for an empty file
    set(at 0)
    while(at LESS length)
        string(SUBSTRING "${text}" ${at} ${PIECE} piece)
        string(APPEND pieces "R\"wgsl(${piece})wgsl\"\n")
        math(EXPR at "${at} + ${PIECE}")
    endwhile()
    set(${result} "${pieces}" PARENT_SCOPE)
endfunction()

set(source "#include \"gpu/shader_source.h\"\n\nnamespace gpu {\n\nstatic constexpr embedded_shader files[] = {\n")
file(STRINGS ${LIST} files)
foreach(file ${files})
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${ROOT} OUTPUT_VARIABLE path)
    file(READ ${file} text)
    literal("${text}" pieces)
    string(APPEND source "{ \"${path}\",\n${pieces}},\n")
endforeach()
string(APPEND source "};\n\nconst std::span<const embedded_shader> embedded_shaders = files;\n\n}  // namespace gpu\n")
file(WRITE ${OUTPUT} "${source}")
