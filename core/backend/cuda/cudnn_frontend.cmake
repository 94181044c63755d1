# Brings the headers of cuDNN's C++ frontend: LONGVIEW_CUDNN_FRONTEND is the folder that holds cudnn_frontend.h. They come
# from a published Python package by exact version and SHA-256, through pip, so that pip's own settings (index, proxy, a local
# folder) count; nothing of the package is installed or run. A folder that was given is taken as it is, without a network.
set(LONGVIEW_CUDNN_FRONTEND "" CACHE PATH "Folder of cudnn_frontend.h; empty: it is brought by pip")

if(NOT LONGVIEW_CUDNN_FRONTEND)
  set(lv_frontend ${CMAKE_BINARY_DIR}/cudnn_frontend)
  if(NOT EXISTS ${lv_frontend}/include/cudnn_frontend.h)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    # The headers are the same for every Python; one file is asked for, so that one hash holds.
    file(WRITE ${lv_frontend}/requirements.txt "nvidia-cudnn-frontend==1.32.0 \
--hash=sha256:c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0\n")
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --no-input --disable-pip-version-check
        --only-binary :all: --python-version 3.11 --implementation cp --abi cp311 --platform manylinux_2_28_x86_64
        --require-hashes -d ${lv_frontend} -r ${lv_frontend}/requirements.txt
      RESULT_VARIABLE lv_failed ERROR_VARIABLE lv_error)
    file(GLOB lv_package ${lv_frontend}/*.whl)
    if(lv_failed OR NOT lv_package)
      message(FATAL_ERROR "cuDNN's frontend headers could not be brought by pip:\n${lv_error}\n"
        "With no network, set LONGVIEW_CUDNN_FRONTEND to the folder that holds cudnn_frontend.h.")
    endif()
    file(ARCHIVE_EXTRACT INPUT ${lv_package} DESTINATION ${lv_frontend} PATTERNS "include/*")
    file(REMOVE ${lv_package})
  endif()
  set(LONGVIEW_CUDNN_FRONTEND ${lv_frontend}/include)
endif()
