#include "driver.h"

#include <dlfcn.h>

namespace {

using Context = void *;
using Stream = void *;

/* Results are CUresult: 0 is success. Names of functions are the driver's own. */
struct Driver {
    int (*context_get)(Context *) = nullptr;
    int (*context_device)(int *) = nullptr;
    int (*context_push)(Context) = nullptr;
    int (*context_pop)(Context *) = nullptr;
    int (*context_synchronize)() = nullptr;
    int (*device_get)(int *, int) = nullptr;
    int (*primary_retain)(Context *, int) = nullptr;
    int (*primary_release)(int) = nullptr;
    int (*stream_synchronize)(Stream) = nullptr;
    int (*stream_capturing)(Stream, int *) = nullptr;
    int (*stream_capture)(Stream, int *, uint64_t *, void *, void *, void *) = nullptr;
    int (*exchange_mode)(int *) = nullptr;

    template <typename F> static void find(void *library, const char *name, F *function) {
        *function = reinterpret_cast<F>(dlsym(library, name));
    }

    Driver() {
        void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return;
        find(library, "cuCtxGetCurrent", &context_get);
        find(library, "cuCtxGetDevice", &context_device);
        find(library, "cuCtxPushCurrent_v2", &context_push);
        find(library, "cuCtxPopCurrent_v2", &context_pop);
        find(library, "cuCtxSynchronize", &context_synchronize);
        find(library, "cuDeviceGet", &device_get);
        find(library, "cuDevicePrimaryCtxRetain", &primary_retain);
        find(library, "cuDevicePrimaryCtxRelease_v2", &primary_release);
        find(library, "cuStreamSynchronize", &stream_synchronize);
        find(library, "cuStreamIsCapturing", &stream_capturing);
        find(library, "cuStreamGetCaptureInfo_v2", &stream_capture);
        find(library, "cuThreadExchangeStreamCaptureMode", &exchange_mode);
    }
};

const Driver &api() {
    static const Driver loaded;
    return loaded;
}

/* The primary context of a device, which CUDA's runtime uses, is the thread's current one while this lives. */
class Inside {
    int device_ = 0;
    bool retained_ = false, pushed_ = false;

  public:
    explicit Inside(int ordinal) {
        const Driver &d = api();
        Context context = nullptr;
        if (!d.device_get || !d.primary_retain || !d.primary_release || !d.context_push || !d.context_pop)
            return;
        retained_ = d.device_get(&device_, ordinal) == 0 && d.primary_retain(&context, device_) == 0;
        pushed_ = retained_ && d.context_push(context) == 0;
    }
    ~Inside() {
        Context context;
        if (pushed_)
            api().context_pop(&context);
        if (retained_)
            api().primary_release(device_);
    }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;
    explicit operator bool() const {
        return pushed_;
    }
};

} // namespace

namespace driver {

int current_device() {
    const Driver &d = api();
    Context context = nullptr;
    int device = 0;
    if (!d.context_get || !d.context_device || d.context_get(&context) != 0 || !context)
        return 0;
    return d.context_device(&device) == 0 ? device : 0;
}

uint64_t capture_of(void *stream) {
    const Driver &d = api();
    int status = 0;
    uint64_t id = 0;
    /* The legacy stream cannot be captured, and the question alone would spoil the capture of another. */
    if (!stream || stream == reinterpret_cast<void *>(1) || !d.stream_capturing)
        return 0;
    if (d.stream_capturing(stream, &status) != 0 || status == 0)
        return 0;
    if (!d.stream_capture || d.stream_capture(stream, &status, &id, nullptr, nullptr, nullptr) != 0 ||
        id == 0)
        return UINT64_MAX;
    return id;
}

void wait_for_device(int device) {
    const Inside inside(device);
    if (inside && api().context_synchronize)
        api().context_synchronize();
}

void wait_for_stream(int device, void *stream) {
    const Inside inside(device);
    if (inside && api().stream_synchronize)
        api().stream_synchronize(stream);
}

Relaxed::Relaxed() : mode_(2) { /* CU_STREAM_CAPTURE_MODE_RELAXED; afterwards the mode that was */
    if (!api().exchange_mode || api().exchange_mode(&mode_) != 0)
        mode_ = -1;
}

Relaxed::~Relaxed() {
    if (mode_ >= 0)
        api().exchange_mode(&mode_);
}

} // namespace driver
