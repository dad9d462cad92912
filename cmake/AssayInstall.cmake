# cmake --install: the programs with their data, and the libraries that need neither gRPC, protobuf
# nor CUDA as the package "assay" (find_package(assay), then assay::roofline and others).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS assay-runner COMPONENT programs)
if(ASSAY_SERVICES)
  install(TARGETS assay assay-agent assay-coordinator COMPONENT programs)
endif()
install(DIRECTORY dashboards deploy examples DESTINATION ${CMAKE_INSTALL_DATADIR}/assay
        COMPONENT programs)

set(rooms analysis host measure model roofline)
foreach(room base ${rooms} warnings)
  set_target_properties(assay_${room} PROPERTIES EXPORT_NAME ${room})
  list(APPEND exported assay_${room})
endforeach()
install(TARGETS ${exported} EXPORT assay COMPONENT development)
install(DIRECTORY common ${rooms} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay COMPONENT development
        FILES_MATCHING PATTERN "*.h")
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
install(EXPORT assay NAMESPACE assay:: DESTINATION ${package} COMPONENT development)
file(WRITE ${PROJECT_BINARY_DIR}/assay-config.cmake "include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(\${CMAKE_CURRENT_LIST_DIR}/assay.cmake)
")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assay-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assay-config.cmake
              ${PROJECT_BINARY_DIR}/assay-config-version.cmake
        DESTINATION ${package} COMPONENT development)
