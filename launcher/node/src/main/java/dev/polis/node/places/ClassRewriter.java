package dev.polis.node.places;

import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.attribute.SourceFileAttribute;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LineNumber;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.Optional;
import java.util.Set;

/** Rewrites the calls of one class that log. */
final class ClassRewriter {
  private static final ClassDesc LOG = ClassDesc.of("dev.polis.logtree.Log");
  private static final ClassDesc PLACES = ClassDesc.of("dev.polis.logtree.LogPlaces");
  private static final Set<String> METHODS = Set.of("log", "info", "warning", "error", "fatal");

  private final ClassFile files;

  /**
   * @param types resolves the types that the code names, for the verifier's tables
   */
  ClassRewriter(ClassLoader types) {
    this.files =
        ClassFile.of(
            ClassHierarchyResolverOption.of(
                ClassHierarchyResolver.ofResourceParsing(types)
                    .orElse(ClassHierarchyResolver.defaultResolver())));
  }

  /** Returns the class with places; empty if none of its calls logs, or it names no source file. */
  Optional<byte[]> rewrite(byte[] bytes) {
    ClassModel model = files.parse(bytes);
    Optional<String> source =
        model
            .findAttribute(Attributes.sourceFile())
            .map(SourceFileAttribute::sourceFile)
            .map(Object::toString);
    boolean logs =
        model.methods().stream()
            .flatMap(method -> method.code().stream())
            .flatMap(code -> code.elementStream())
            .anyMatch(ClassRewriter::logs);
    // It passes entries on to logs that know no places, by the methods it stands for.
    boolean itself = model.thisClass().asSymbol().equals(PLACES);
    if (source.isEmpty() || !logs || itself) {
      return Optional.empty();
    }
    String file = source.get();
    return Optional.of(
        files.transformClass(
            model,
            ClassTransform.transformingMethodBodies(
                CodeTransform.ofStateful(() -> new Calls(file)))));
  }

  private static boolean logs(CodeElement element) {
    return element instanceof InvokeInstruction call
        && call.owner().asSymbol().equals(LOG)
        && METHODS.contains(call.name().stringValue());
  }

  /** Rewrites the calls of one method. */
  private static final class Calls implements CodeTransform {
    private final String file;
    private int line;

    private Calls(String file) {
      this.file = file;
    }

    @Override
    public void accept(CodeBuilder code, CodeElement element) {
      if (element instanceof LineNumber number) {
        line = number.line();
      }
      if (logs(element)) {
        InvokeInstruction call = (InvokeInstruction) element;
        MethodTypeDesc type =
            call.typeSymbol()
                .insertParameterTypes(0, LOG)
                .insertParameterTypes(
                    call.typeSymbol().parameterCount() + 1, ConstantDescs.CD_String);
        code.ldc(file + ":" + line).invokestatic(PLACES, call.name().stringValue(), type);
      } else {
        code.with(element);
      }
    }
  }
}
