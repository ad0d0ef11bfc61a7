package dev.polis.baseline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.lang.classfile.ClassElement;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.MethodModel;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Changes exported packages in copies of the platform's bundles, and compares them. */
class VersionCheckTest {
  private static final Path PLATFORM = Path.of(System.getProperty("polis.repository"), "platform");
  private static final String STATUS = "dev/polis/wire/common/NodeStatus.class";

  @TempDir Path folder;
  private ApiTree released;

  @BeforeEach
  void record() throws Exception {
    released = recorded(bundle("base"));
  }

  private ApiTree recorded(Path bundle) throws Exception {
    Path file = folder.resolve("release.gz");
    ApiTree.of("0.1.0", List.of(bundle)).write(file);
    return ApiTree.read(file);
  }

  @Test
  @DisplayName("Packages that equal the recorded ones need no new version")
  void unchanged() throws Exception {
    assertEquals(List.of(), troubles(bundle("base")));
  }

  @Test
  @DisplayName(
      "An added method needs a new minor version: the build fails with package, found and needed version")
  void added() throws Exception {
    Path changed =
        copy(bundle("base"), "dev/polis/base/values/Values.class", ADDED, UnaryOperator.identity());

    IllegalStateException failure =
        assertThrows(
            IllegalStateException.class,
            () -> Main.check(ApiTree.of("0.2.0", List.of(changed)), released));

    assertTrue(
        failure
            .getMessage()
            .contains(
                "dev.polis.base.values has changed since release 0.1.0 (2.0.0): its version is 2.0.0, and needs to be 2.1.0\n      + /dev.polis.base.values.Values/added()"),
        failure.getMessage());
  }

  @Test
  @DisplayName("A removed method needs a new major version")
  void removed() throws Exception {
    Path changed =
        copy(
            bundle("base"),
            "dev/polis/base/values/Values.class",
            ClassTransform.dropping(VersionCheckTest::isMap),
            UnaryOperator.identity());

    String trouble = troubles(changed).getFirst();

    assertTrue(
        trouble.startsWith(
            "dev.polis.base.values has changed since release 0.1.0 (2.0.0): its version is 2.0.0, and needs to be 3.0.0"),
        trouble);
  }

  @Test
  @DisplayName("A change of a message of dev.polis.wire counts as a change, too")
  void message() throws Exception {
    Path changed = copy(bundle("wire"), STATUS, ADDED, UnaryOperator.identity());

    released = recorded(bundle("wire"));
    String trouble = troubles(changed).getFirst();

    assertTrue(trouble.startsWith("dev.polis.wire.common has changed since"), trouble);
  }

  @Test
  @DisplayName("The same change is accepted with the needed version")
  void raised() throws Exception {
    Path changed =
        copy(
            bundle("base"),
            "dev/polis/base/values/Values.class",
            ADDED,
            exports ->
                exports.replace(
                    "dev.polis.base.values;version=\"2.0.0\"",
                    "dev.polis.base.values;version=\"2.1.0\""));

    assertEquals(List.of(), troubles(changed));
  }

  @Test
  @DisplayName("A removed package is named")
  void gone() throws Exception {
    List<String> troubles = troubles();

    assertTrue(
        troubles.contains(
            "dev.polis.base.values of release 0.1.0 (2.0.0) is gone: bring it back, or record a release without it"),
        troubles::toString);
  }

  private List<String> troubles(Path... bundles) throws Exception {
    return VersionCheck.troubles(ApiTree.of("0.2.0", List.of(bundles)), released);
  }

  private static final ClassTransform ADDED =
      ClassTransform.endHandler(
          type ->
              type.withMethod(
                  "added",
                  MethodTypeDesc.of(ConstantDescs.CD_void),
                  ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                  method -> method.withCode(code -> code.return_())));

  private static boolean isMap(ClassElement element) {
    return element instanceof MethodModel method && method.methodName().equalsString("map");
  }

  private static Path bundle(String module) throws Exception {
    try (var files =
        Files.newDirectoryStream(PLATFORM.resolve(module).resolve("target"), "dev.polis.*.jar")) {
      return files.iterator().next();
    }
  }

  /** Copies a bundle, with one changed class and changed exports. */
  private Path copy(Path bundle, String type, ClassTransform change, UnaryOperator<String> exports)
      throws Exception {
    Path copy = folder.resolve("changed.jar");
    try (JarFile jar = new JarFile(bundle.toFile())) {
      Manifest manifest = new Manifest(jar.getManifest());
      manifest
          .getMainAttributes()
          .putValue(
              "Export-Package",
              exports.apply(manifest.getMainAttributes().getValue("Export-Package")));
      try (OutputStream out = Files.newOutputStream(copy);
          JarOutputStream target = new JarOutputStream(out, manifest)) {
        for (JarEntry each :
            jar.stream().filter(e -> !e.getName().equals(JarFile.MANIFEST_NAME)).toList()) {
          target.putNextEntry(new JarEntry(each.getName()));
          byte[] content = jar.getInputStream(each).readAllBytes();
          target.write(each.getName().equals(type) ? changed(content, change) : content);
        }
      }
    }
    return copy;
  }

  private static byte[] changed(byte[] type, ClassTransform change) {
    ClassFile file = ClassFile.of();
    return file.transformClass(file.parse(type), change);
  }
}
